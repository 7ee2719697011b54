// Every crash point of uploads and deletions.
import './killed-server.test.js';
