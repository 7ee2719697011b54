// A kill at every crash point of a merge, and a fault at every step.
import './merge.test.js';
