"""Chips to compile for, installed or not: names, compilers, reports."""
