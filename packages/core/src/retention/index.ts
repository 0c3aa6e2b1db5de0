export { createArchiver, createUsageArchiver, type ArchiverOptions } from './archive.ts';
export { deleteFinished, finishedRowsRules, type FinishedRowsRule } from './finished-rows.ts';
