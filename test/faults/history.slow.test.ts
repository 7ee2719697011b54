// Clients that send requests for longer.
import './history.test.js';
