export type { Db, Isolation, Reader, TransactionOptions, Tx } from './db.ts';
export { appRole, createDb, processRoles, type DbOptions } from './create-db.ts';
export type { DatabaseAccess } from './connect.ts';
export { parsePostgresUrl } from './servers/server-url.ts';
export { watchClock } from './watch-clock.ts';
export { recordReplication } from './replication-metrics.ts';
export { confirmReads } from './confirm-reads.ts';
export { assertOutsideTransaction, inSavepoint } from './transaction-scope.ts';
export {
  UnknownCommitError,
  isContended,
  isDataError,
  isStatementTimeout,
  isUnavailable,
  isUniqueViolation,
} from './errors.ts';
export {
  migrate,
  requireSchema,
  schemaVersion,
  type AppliedMigration,
  type MigrateOptions,
} from './migrate.ts';
export {
  allowLongStatements,
  defineStatement,
  runStatement,
  type PreparedStatement,
} from './prepared-statement.ts';
export { migrationsDirectory, readContracts, readMigrations, type Contract } from './migration-files.ts';
export { readProcessSessions, sessionNameOf, type ProcessSession } from './process-sessions.ts';
export type { Tables } from './tables.ts';
