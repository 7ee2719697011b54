import './terms.test.js';
