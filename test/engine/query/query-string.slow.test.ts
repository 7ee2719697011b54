import './query-string.test.js';
