import { randomBytes } from 'node:crypto';
import { grantCredit, zeroBurnRate } from '@millrace/core/billing';
import {
  bootstrapInstallation,
  createKeyAuthenticator,
  createOrganisation,
  ensureUser,
  findOrganisationBySlug,
  issueUnrestrictedKey,
  systemAuditContext,
  type KeyMode,
} from '@millrace/core/identity';
import { passwordHash, setPassword } from '@millrace/platform/auth';
import { systemClock } from '@millrace/platform/clock';
import { createDb, type Db } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoPerUsd, nanoUsd } from '@millrace/platform/money';
import { readDemo, saveDemo, type Demo } from './demo-file.ts';

const SLUG = 'demo';
const EMAIL = 'demo@example.com';
const cause = systemAuditContext('npm run dev', 'live');

/** An operator's grant, once per database. */
export const DEMO_CREDIT_USD = 100;

/** Creates the demo or finds it. Idempotent. A demo with a history has money already. */
export async function seedDemo(
  postgresUrl: string,
  { file, withCredit }: { readonly file: string; readonly withCredit: boolean },
): Promise<Demo> {
  const db = createDb({
    url: postgresUrl,
    poolSize: 2,
    applicationName: 'millrace-dev',
    ids: createIdSource({ clock: systemClock, cell: 0 }),
    log: createLogger({ name: 'dev', level: 'warn' }),
  });
  try {
    // Reads the database's clock, by which keys are checked.
    await db.ping();
    const known = readDemo(file);
    const liveKey = await reuseOrIssueKey(db, known?.liveKey, 'live');
    const testKey = await reuseOrIssueKey(db, known?.testKey, 'test');
    if (withCredit) await grantDemoCredit(db);
    const password = known?.password ?? randomBytes(12).toString('base64url');
    await setDemoPassword(db, password);
    const demo: Demo = { organisation: SLUG, email: EMAIL, password, liveKey, testKey };
    saveDemo(file, { ...known, ...demo });
    return demo;
  } finally {
    await db.close();
  }
}

/** The key of the last start if this database still accepts it, else a new one. */
async function reuseOrIssueKey(db: Db, known: string | undefined, mode: KeyMode): Promise<string> {
  if (known !== undefined && (await isKeyValid(db, known))) return known;
  return db.transaction({ name: 'seed demo', isolation: 'serializable' }, async (tx) => {
    const owner = { email: EMAIL, name: 'Demo' };
    const request = { name: 'Demo', slug: SLUG, homeCell: 0, owner };
    const found = await findOrganisationBySlug(tx, SLUG);
    if (found === null) {
      const bootstrapped = await bootstrapInstallation(tx, cause, request);
      if (bootstrapped !== null && mode === 'live') return bootstrapped.issued.text;
      if (bootstrapped === null) await createOrganisation(tx, cause, request);
    }
    const organisation = found ?? (await findOrganisationBySlug(tx, SLUG));
    if (organisation === null)
      throw new Error('The demo organisation was deleted while it was being created.');
    const user = await ensureUser(tx, owner);
    const name = `demo ${mode} key`;
    const issued = await issueUnrestrictedKey(
      tx,
      { ...cause, mode },
      { orgId: organisation.id, user, mode, name },
    );
    return issued.text;
  });
}

/** Sets the password and marks the email address as verified, so that no email is needed. */
async function setDemoPassword(db: Db, password: string): Promise<void> {
  const hash = await passwordHash(password);
  await db.transaction({ name: 'let the demo person sign in', isolation: 'read committed' }, async (tx) => {
    const { id } = await ensureUser(tx, { email: EMAIL });
    await setPassword(tx, id, hash);
  });
}

/** The fixed cause id makes the grant idempotent. */
async function grantDemoCredit(db: Db): Promise<void> {
  await db.transaction({ name: 'give play money', isolation: 'read committed' }, async (tx) => {
    const organisation = await findOrganisationBySlug(tx, SLUG);
    if (organisation === null) throw new Error('The demo organisation for the play money does not exist.');
    const owner = await ensureUser(tx, { email: EMAIL });
    await grantCredit(tx, { ...cause, actor: { kind: 'operator', id: owner.id } }, organisation.id, {
      amount: nanoUsd(BigInt(DEMO_CREDIT_USD) * nanoPerUsd),
      causeId: 'demo-play-money',
      reason: 'Play money for the demo',
      burnOf: zeroBurnRate,
    });
  });
}

async function isKeyValid(db: Db, key: string): Promise<boolean> {
  const { authenticate } = createKeyAuthenticator({ db, clock: systemClock, organisationRpm: 1 });
  return authenticate({ key, clientIp: '127.0.0.1' }).then(
    () => true,
    () => false,
  );
}
