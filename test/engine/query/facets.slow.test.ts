import './facets.test.js';
