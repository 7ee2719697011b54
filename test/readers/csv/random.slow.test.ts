// Repeats the tests of `random.test.js` with 2,000 random files, 600 random texts, and every chunk size below 400.
import './random.test.js';
