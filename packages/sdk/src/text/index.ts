/** Money, spans of time, names and answers of models as text, the same for everybody who shows them: the command line and the console. */
export * from './completion.ts';
export * from './duration.ts';
export * from './metric-text.ts';
export * from './random-name.ts';
export * from './expected-steps.ts';
export * from './rentals.ts';
export * from './units.ts';
export * from './usd.ts';
