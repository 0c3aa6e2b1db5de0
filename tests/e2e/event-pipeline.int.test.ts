import { seedOrganisation } from '@millrace/core/fixture';
import {
  createTestDatabase,
  eventually,
  openSse,
  startApiProcess,
  startSmtpServer,
  startWorkerProcess,
  testNames,
} from '@millrace/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { auditAndDrop } from '../stack/ledger-audit.ts';

/** The path of an event: request, transaction, outbox, relay, JetStream, feed and email. */

const names = testNames();

async function startHarness() {
  const [database, smtp] = await Promise.all([createTestDatabase(), startSmtpServer({ withPassword: true })]);
  const env = { MILLRACE_SMTP_URL: smtp.url, MILLRACE_MAIL_FROM: 'Example Cloud <notices@example.com>' };
  const [api, worker] = await Promise.all([
    startApiProcess({ database, names }),
    startWorkerProcess({ database, names, env }),
  ]);
  return { database, smtp, api, worker, owner: (await seedOrganisation(database.db)).owner };
}

const harness = await startHarness();

afterAll(async () => {
  await harness.worker.stop();
  await harness.api.stop();
  await harness.smtp.close();
  await auditAndDrop(harness.database);
});

async function call(method: string, path: string, body?: unknown) {
  const response = await fetch(`${harness.api.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${harness.owner.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

describe('event pipeline with api and worker processes', () => {
  test('delivers key.created and key.revoked to the event stream and the page', async () => {
    // The owner's own key has an event too; read only later ones.
    const before = await eventually({ what: "the owner's key in the feed" }, async () => {
      const { items, nextAfter } = (await call('GET', '/v2/events')).body;
      const announced = items.some(
        (item: { resource: { id: string } }) => item.resource.id === harness.owner.keyId,
      );
      return announced ? (nextAfter as number) : undefined;
    });
    const stream = await openSse(`${harness.api.url}/v2/events?after=${before}`, {
      authorization: `Bearer ${harness.owner.key}`,
    });
    expect(stream.status).toBe(200);
    const events = stream.events();

    const created = await call('POST', '/v2/api-keys', { name: 'ci', scopes: ['events:read'] });
    expect(created.status).toBe(201);
    const first = (await events.next()).value;
    expect(first).toMatchObject({
      event: 'key.created',
      data: { type: 'key.created', data: { keyId: created.body.id, name: 'ci' }, actor: { kind: 'key' } },
    });

    expect((await call('DELETE', `/v2/api-keys/${created.body.id}`)).status).toBeLessThan(300);
    const second = (await events.next()).value;
    expect(second).toMatchObject({ event: 'key.revoked', data: { resource: { id: created.body.id } } });
    stream.close();

    const page = await call('GET', `/v2/events?after=${before}`);
    expect(page.status).toBe(200);
    expect(page.body.items).toEqual([first?.data, second?.data]);
    const seqs = page.body.items.map((item: { seq: number }) => item.seq);
    expect(seqs[1]).toBe(seqs[0] + 1);
  });

  test('sends one email for a new key', async () => {
    const me = await call('GET', '/v2/me');
    const { email } = me.body.user;
    const created = await call('POST', '/v2/api-keys', { name: 'told by mail', scopes: ['events:read'] });
    expect(created.status).toBe(201);
    const received = () =>
      harness.smtp.emails.filter(({ headers }) => headers['subject']?.endsWith('created: told by mail'));
    await eventually({ what: 'the email', timeoutMs: 30_000 }, async () => received().length > 0);
    expect(received()).toMatchObject([
      { from: 'notices@example.com', to: [email], headers: { 'x-millrace-notice': 'key.created' } },
    ]);
  });

  test('ends event streams when the api stops', async () => {
    const api = await startApiProcess({ database: harness.database, names, name: 'second api' });
    const stream = await openSse(`${api.url}/v2/events`, { authorization: `Bearer ${harness.owner.key}` });
    expect(stream.status).toBe(200);
    const reading = (async () => {
      for await (const event of stream.events()) expect(event.id).not.toBeNull();
      return 'ended';
    })();
    expect(await api.stop()).toBe(0);
    expect(await reading).toBe('ended');
  });
});
