/** Money and spans of time as text, the same for everybody who shows them: the command line and the console. */
export * from './duration.ts';
export * from './units.ts';
export * from './usd.ts';
