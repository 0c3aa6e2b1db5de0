import type { TrustLimits } from '@millrace/compute/connect';
import type { MachineBenchmark } from '@millrace/compute/readiness';
import { makeCertificate, testIds } from '@millrace/testing';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  checkDaemon,
  problemWithMeasurements,
  problemWithHardware,
  problemWithTrust,
  retryAfterMs,
  clusterSettingsOf,
  enrolmentSteps,
  type InspectedNode,
} from './enrolment.ts';

const digest = 'd'.repeat(64);

const config = {
  restricted: 'true',
  'features.images': 'true',
  'features.profiles': 'true',
  'user.millrace.join': digest,
  'user.millrace.network': 'incusbr0',
  'user.millrace.storage-pool': 'default',
  'user.millrace.instance-type': 'container',
  'user.millrace.ssh-user': 'ubuntu',
  'user.millrace.default-image': 'ubuntu-24.04',
};

const limits: TrustLimits = {
  seesOthers: false,
  isRestricted: true,
  isClustered: false,
  serverName: 'barn',
  projects: [{ name: 'millrace', config }],
};

describe('checkDaemon', () => {
  let certificate: string;
  let fingerprint: string;
  beforeAll(async () => {
    ({ certificate, fingerprint } = await makeCertificate('daemon'));
  });
  const tokenOf = (fields: object): string => Buffer.from(JSON.stringify(fields)).toString('base64');
  const input = (changes: object = {}) => ({
    endpoint: 'https://203.0.113.7:8443',
    incusToken: tokenOf({ fingerprint, secret: 's' }),
    serverCertificate: certificate,
    ...changes,
  });

  it('normalises the endpoint', () => {
    const expected = { endpoint: 'https://barn.example.com:8443', serverFingerprint: fingerprint };
    for (const endpoint of ['https://barn.example.com:8443', 'https://BARN.example.com:8443/']) {
      expect(checkDaemon(input({ endpoint }))).toMatchObject(expected);
    }
    expect(checkDaemon(input({ endpoint: 'https://barn' }))).toMatchObject({ endpoint: 'https://barn:443' });
    // An IP address has many spellings; all of them become this one.
    expect(checkDaemon(input({ endpoint: 'https://0x7f.1:8443' }))).toMatchObject({
      endpoint: 'https://127.0.0.1:8443',
    });
  });

  it.each([
    '',
    'barn',
    'http://barn:8443',
    'https://a:b@barn:1',
    'https://barn:1/x',
    'https://barn:1?x',
    'unix:/x',
    'https://barn:1#x',
  ])('refuses the endpoint %j', (endpoint) => {
    expect(checkDaemon(input({ endpoint }))).toMatchObject({ field: 'endpoint' });
  });

  it('refuses a token created by a daemon with another certificate', () => {
    const incusToken = tokenOf({ fingerprint: '0'.repeat(64), secret: 's' });
    expect(checkDaemon(input({ incusToken }))).toMatchObject({ field: 'incusToken' });
  });

  it('refuses any invalid token or certificate', () => {
    expect(checkDaemon(input({ serverCertificate: 'x' }))).toMatchObject({ field: 'serverCertificate' });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.base64String(),
          fc.json().map((text) => Buffer.from(text).toString('base64')),
        ),
        (incusToken) => {
          expect(checkDaemon(input({ incusToken }))).toMatchObject({ field: 'incusToken' });
        },
      ),
    );
  });
});

describe('problemWithTrust', () => {
  it('accepts one restricted project that names the join token', () => {
    expect(problemWithTrust(limits, digest)).toBeNull();
  });

  const [project] = limits.projects;
  const changed = (changes: Readonly<Record<string, string>>): TrustLimits => ({
    ...limits,
    projects: [{ name: 'millrace', config: { ...config, ...changes } }],
  });
  it.each<readonly [string, TrustLimits]>([
    ['a certificate that is not restricted', { ...limits, isRestricted: false }],
    ['access to other projects', { ...limits, seesOthers: true }],
    ['a cluster', { ...limits, isClustered: true }],
    ['no project', { ...limits, projects: [] }],
    ['two projects', { ...limits, projects: [...limits.projects, { name: 'other', config }] }],
    ['the default project', { ...limits, projects: [{ name: 'default', config: project?.config ?? {} }] }],
    ['a project whose name is a path', { ...limits, projects: [{ name: '../x', config }] }],
    ['a project that restricts nothing', changed({ restricted: 'false' })],
    ['a project that shares images', changed({ 'features.images': 'false' })],
    ['a project that shares profiles', changed({ 'features.profiles': 'false' })],
    ['a project that names another join token', changed({ 'user.millrace.join': 'e'.repeat(64) })],
    ['a project that names no join token', changed({ 'user.millrace.join': '' })],
  ])('refuses %s with a sentence', (_title, given) => {
    expect(problemWithTrust(given, digest)).toMatch(/^[A-Z].+\.$/s);
  });

  it('refuses an unknown join token', () => {
    expect(problemWithTrust(limits, null)).not.toBeNull();
  });
});

describe('clusterSettingsOf', () => {
  const endpoint = 'https://203.0.113.7:8443';
  const daemon = { limits, images: ['ubuntu-24.04', 'debian'], endpoint, serverCertificate: 'PEM' };

  it('reads the project config and always pins the certificate and uses the guard', () => {
    expect(clusterSettingsOf(daemon)).toEqual({
      settings: {
        project: 'millrace',
        network: 'incusbr0',
        storagePool: 'default',
        instanceType: 'container',
        sshUser: 'ubuntu',
        defaultImage: 'ubuntu-24.04',
        images: ['ubuntu-24.04', 'debian'],
        listenAddress: '0.0.0.0',
        serverCertificate: 'PEM',
        guarded: true,
      },
    });
  });

  it('listens on all addresses of the endpoint’s IP version', () => {
    expect(clusterSettingsOf({ ...daemon, endpoint: 'https://[2001:db8::7]:8443' })).toMatchObject({
      settings: { listenAddress: '::' },
    });
  });

  it('includes only images whose names tenants can type', () => {
    const images = ['ubuntu-24.04', 'a\u0000b', '\u001b[31mred', 'see https://evil.example', 'team/base:1.2'];
    expect(clusterSettingsOf({ ...daemon, images })).toMatchObject({
      settings: { images: ['ubuntu-24.04', 'team/base:1.2'] },
    });
  });

  it.each([
    { 'user.millrace.network': '../other' },
    { 'user.millrace.storage-pool': '' },
    { 'user.millrace.instance-type': 'something' },
    { 'user.millrace.ssh-user': 'root; rm' },
    { 'user.millrace.default-image': 'gone' },
    { 'user.millrace.default-image': 'a\u0000b' },
  ])('refuses %j', (changes) => {
    const projects = [{ name: 'millrace', config: { ...config, ...changes } }];
    expect(clusterSettingsOf({ ...daemon, limits: { ...limits, projects } })).toHaveProperty('problem');
  });
});

const node: InspectedNode = { gpuCount: 2, models: ['X', 'X'], cpuCount: 8, ramMb: 4_096, storageGb: 100 };

describe('problemWithHardware and problemWithMeasurements', () => {
  it('accept GPUs of one model with enough CPU, memory and disk', () => {
    expect(problemWithHardware(node)).toBeNull();
  });

  it.each<Partial<InspectedNode>>([
    { gpuCount: 0, models: [] },
    { models: ['X', 'Y'] },
    { cpuCount: null },
    { ramMb: 100 },
    { storageGb: 0 },
  ])('refuse %j', (changes) => {
    expect(problemWithHardware({ ...node, ...changes })).not.toBeNull();
  });

  it('compare the reported with the measured number of GPUs', () => {
    const figures = { gpu: { count: 2 } } as MachineBenchmark;
    expect(problemWithMeasurements(figures, 2)).toBeNull();
    expect(problemWithMeasurements(figures, 8)).toContain('8');
    expect(problemWithMeasurements(figures, 1)).not.toBeNull();
  });
});

describe('enrolmentSteps and retryAfterMs', () => {
  const [clusterId, nodeId] = [testIds.next('cls'), testIds.next('nod')];
  const statuses = (facts: Parameters<typeof enrolmentSteps>[0]): string =>
    enrolmentSteps(facts)
      .map(({ status }) => status)
      .join(' ');

  it('show each step, also for a refused enrolment', () => {
    const none = { clusterId: null, nodeId: null, enrolledAt: null };
    expect(statuses({ ...none, stage: 'trusting' })).toBe('under-way to-do to-do');
    expect(statuses({ ...none, stage: 'refused' })).toBe('failed to-do to-do');
    expect(statuses({ ...none, clusterId, stage: 'inspecting' })).toBe('done under-way to-do');
    expect(statuses({ ...none, clusterId, nodeId, stage: 'testing' })).toBe('done done under-way');
    expect(statuses({ ...none, clusterId, nodeId, stage: 'refused' })).toBe('done done failed');
    const enrolledAt = new Date(0);
    expect(statuses({ clusterId, nodeId, enrolledAt, stage: 'enrolled' })).toBe('done done done');
    expect(statuses({ clusterId, nodeId, enrolledAt, stage: 'withdrawn' })).toBe('done done done');
  });

  it('double the wait up to one minute', () => {
    expect([0, 1, 2, 3].map(retryAfterMs)).toEqual([2_000, 4_000, 8_000, 16_000]);
    expect(retryAfterMs(1_000_000)).toBe(60_000);
  });
});
