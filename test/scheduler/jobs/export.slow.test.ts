// The test with datasets of several parts, which threads encode at the same time.
import './export.test.js';
