import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { activeTopology, readEndpoints, writeEndpoints, type Endpoints } from './endpoints.ts';
import { listRecords, liveRecord, readRecord, removeRecord, writeRecord } from './records.ts';
import {
  createSite,
  defaultPortBase,
  knownHome,
  nodeHome,
  openSite,
  removeSite,
  writeAtomically,
} from './site.ts';

let folder = '';

beforeEach(() => {
  folder = path.join(mkdtempSync(path.join(tmpdir(), 'mr-site-')), 'state');
});

afterEach(() => rmSync(path.dirname(folder), { recursive: true, force: true }));

function made() {
  const site = openSite({ stateDir: folder, portBase: 20_000 });
  createSite(site);
  return site;
}

test('openSite: keeps the recorded port base and refuses another once engines were started', () => {
  expect(openSite({ stateDir: folder }).portBase).toBe(defaultPortBase);
  made();
  expect(openSite({ stateDir: folder }).portBase).toBe(20_000);
  expect(openSite({ stateDir: folder, portBase: 20_000 }).portBase).toBe(20_000);
  writeFileSync(path.join(folder, 'log', 'valkey.log'), '');
  expect(() => openSite({ stateDir: folder, portBase: 21_000 })).toThrow(/already uses port base 20000/u);
});

test.each([80, 32_700, 40_000, 17_400.5])('openSite: refuses port base %d', (portBase) => {
  expect(() => openSite({ stateDir: folder, portBase })).toThrow(/out of range/u);
});

test('createStateDir: creates folders that other users can traverse', () => {
  const site = made();
  expect(statSync(site.stateDir).mode & 0o777).toBe(0o755);
});

test('openSite: names a damaged state folder instead of using wrong ports', () => {
  made();
  writeAtomically(path.join(folder, 'instance.json'), '{}');
  expect(() => openSite({ stateDir: folder })).toThrow(/damaged/u);
});

test('nodeHome: puts a node with an unsuitable path outside the state folder and records that with a link', () => {
  const site = made();
  if (!site.isRoot) return;
  const home = nodeHome(site, 'incus', () => false);
  expect(home).toMatch(/^\/var\/lib\/millrace\/[0-9a-f]{12}\/incus$/u);
  expect(readlinkSync(path.join(folder, 'incus'))).toBe(home);
  // The path would suit now, but the recorded decision is kept.
  expect(nodeHome(site, 'incus')).toBe(home);
  expect(knownHome(site, 'incus')).toBe(home);
  removeSite(site);
  expect(() => statSync(home)).toThrow(/ENOENT/u);
  expect(() => statSync(folder)).toThrow(/ENOENT/u);
});

test('readRecord: returns the record of a live process and ignores a damaged record', () => {
  const site = made();
  const record = {
    node: 'nats',
    engine: 'nats',
    topology: 'single' as const,
    startedAt: '2026-01-01T00:00:00.000Z',
    pid: 2_000_000_000,
    startTicks: '5',
    bootId: 'b',
  };
  writeRecord(site, record);
  expect(readRecord(site, 'nats')).toEqual(record);
  expect(listRecords(site)).toEqual([record]);
  expect(liveRecord(site, 'nats')).toBeNull();
  writeAtomically(path.join(folder, 'run', 'nats.json'), '{"pid": "x"');
  expect(readRecord(site, 'nats')).toBeNull();
  removeRecord(site, 'nats');
  expect(listRecords(site)).toEqual([]);
});

function endpoints(topology: 'single' | 'cluster'): Endpoints {
  const restate = {
    ingressUrl: 'i',
    adminUrl: 'a',
    ingressUrls: ['i'],
    adminUrls: ['a'],
    identityPublicKey: 'k',
  };
  return { postgresUrl: 'p', valkeyUrl: 'v', natsUrls: [topology], restate };
}

const single = {
  active: { nats: 'single' },
  current: endpoints('single'),
  single: endpoints('single'),
} as const;

test('readEndpoints: returns those of the last `up` and keeps the other topology', () => {
  const site = made();
  expect(() => readEndpoints(folder)).toThrow(/No engines have been started/u);
  writeEndpoints(site, single);
  expect(readEndpoints(folder).natsUrls).toEqual(['single']);
  expect(() => readEndpoints(folder, 'cluster')).toThrow(/No cluster/u);
  const cluster = endpoints('cluster');
  writeEndpoints(site, { active: { nats: 'cluster' }, current: cluster, cluster });
  expect(activeTopology(site, 'nats')).toBe('cluster');
  expect(activeTopology(site, 'incus')).toBe('single');
  expect(readEndpoints(folder).natsUrls).toEqual(['cluster']);
  expect(readEndpoints(folder, 'single').natsUrls).toEqual(['single']);
});

test('readEndpoints: reads the file format in which all engines shared one topology', () => {
  const site = made();
  const earlier = { active: 'cluster', single: endpoints('single'), cluster: endpoints('cluster') };
  writeAtomically(path.join(folder, 'endpoints.json'), JSON.stringify(earlier));
  expect(readEndpoints(folder).natsUrls).toEqual(['cluster']);
  expect(readEndpoints(folder, 'single').natsUrls).toEqual(['single']);
  expect(activeTopology(site, 'restate')).toBe('cluster');
  expect(activeTopology(site, 'incus')).toBe('single');
});

test('writeEndpoints: leaves the file alone if nothing changed', () => {
  const site = made();
  writeEndpoints(site, single);
  const file = path.join(folder, 'endpoints.json');
  const before = statSync(file).ino;
  writeEndpoints(site, single);
  expect(statSync(file).ino).toBe(before);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('active', { nats: 'single' });
});
