// A kill at every crash point of a commit, and more kills at random moments.
import './crash.test.js';
