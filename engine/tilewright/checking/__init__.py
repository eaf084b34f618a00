"""Checking files: project settings, file discovery, output formats."""

from tilewright.checking.checked import Checked, check_text
from tilewright.checking.configuration import Configuration, ConfigurationError, configuration_for

__all__ = ["Checked", "Configuration", "ConfigurationError", "check_text", "configuration_for"]
