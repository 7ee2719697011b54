import './lower-case.test.js';
