import './record-runs.test.js';
