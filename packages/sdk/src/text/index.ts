/** Money, spans of time, names and answers of models as text, the same for everybody who shows them: the command line and the console. */
export * from './answer.ts';
export * from './duration.ts';
export * from './measures.ts';
export * from './names.ts';
export * from './plans.ts';
export * from './rentals.ts';
export * from './units.ts';
export * from './usd.ts';
