import './fold.test.js';
