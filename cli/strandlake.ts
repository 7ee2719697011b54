#!/usr/bin/env node
import { main } from './main.js';
import { openTerminal } from './terminal.js';

process.exitCode = await main(process.argv.slice(2), process.env, openTerminal());
