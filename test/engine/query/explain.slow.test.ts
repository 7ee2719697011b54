import './explain.test.js';
