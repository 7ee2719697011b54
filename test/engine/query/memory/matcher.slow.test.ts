import './matcher.test.js';
