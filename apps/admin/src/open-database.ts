import { systemClock } from '@millrace/platform/clock';
import { createDb, processRoles, requireSchema, type DatabaseAccess, type Db } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';

/** Opens the database with the rights of operators' commands, and checks its schema version. */
export async function openDatabase(access: DatabaseAccess, cell: number): Promise<Db> {
  const db = createDb({
    ...access,
    poolSize: 2,
    applicationName: 'millrace-admin',
    role: processRoles.admin,
    guardClock: false,
    ids: createIdSource({ clock: systemClock, cell }),
    log: createLogger({ name: 'admin', level: 'silent' }),
  });
  try {
    await requireSchema(db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}
