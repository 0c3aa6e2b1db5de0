/** Texts that the CLI and the console share: money, durations, names and completions. */
export * from './completion.ts';
export * from './duration.ts';
export * from './metric-text.ts';
export * from './random-name.ts';
export * from './expected-steps.ts';
export * from './rentals.ts';
export * from './units.ts';
export * from './usd.ts';
