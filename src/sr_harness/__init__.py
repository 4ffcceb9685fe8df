"""Structured data, an expression language and symbolic discovery."""
