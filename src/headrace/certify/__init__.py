"""Certifies a job: kills a copy at every point of its epochs, and compares its results with those of an undisturbed run."""

from headrace.certify.certificate import Certificate, Tried, Written
from headrace.certify.certifying import certify

__all__ = ["Certificate", "Tried", "Written", "certify"]
