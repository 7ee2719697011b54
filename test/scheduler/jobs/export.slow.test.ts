// Datasets of several parts.
import './export.test.js';
