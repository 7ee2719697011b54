// Kills at every crash point, and more kills at random moments.
import './crash.test.js';
