"""Running commands: contained, limited, and recorded so that a result can be traced to its run.

`limits`      what a command may use
`environment` which variables it sees, and the fingerprint of the machine
`sandbox`     how it is contained
`processes`   finding and ending what it started, and nothing else
`supervisor`  the small process that stands between us and the command
`records`     `run_record.json`
`runner`      all of it together: `Runner.run(command) -> RunRecord`
`workdir`     snapshots, inheritance and differences of a node's folder
"""
