export { createArchiver, type ArchiverOptions } from './archive.ts';
export { deleteFinished, finishedRowsRules, type FinishedRowsRule } from './finished-rows.ts';
