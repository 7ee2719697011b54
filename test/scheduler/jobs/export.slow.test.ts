// Repeats the tests of `export.test.js` with datasets of several parts, which threads encode at the same time.
import './export.test.js';
