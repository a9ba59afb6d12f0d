"""A certificate for a job: a copy of it is killed at every point of its epochs, and its results are compared with those of a run that was
left alone.
"""

from headrace.certify.certificate import Certificate, Tried, Written
from headrace.certify.certifying import certify

__all__ = ["Certificate", "Tried", "Written", "certify"]
