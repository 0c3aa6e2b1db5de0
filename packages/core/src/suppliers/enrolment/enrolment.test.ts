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

describe('what a machine sends of its daemon', () => {
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

  it('is taken in one form, however it was written', () => {
    const expected = { endpoint: 'https://barn.example.com:8443', serverFingerprint: fingerprint };
    for (const endpoint of ['https://barn.example.com:8443', 'https://BARN.example.com:8443/']) {
      expect(checkDaemon(input({ endpoint }))).toMatchObject(expected);
    }
    expect(checkDaemon(input({ endpoint: 'https://barn' }))).toMatchObject({ endpoint: 'https://barn:443' });
    // One number has many spellings, and all of them are this one.
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
  ])('is refused with the endpoint %j', (endpoint) => {
    expect(checkDaemon(input({ endpoint }))).toMatchObject({ field: 'endpoint' });
  });

  it('is refused if the token was made by a daemon with another certificate', () => {
    const incusToken = tokenOf({ fingerprint: '0'.repeat(64), secret: 's' });
    expect(checkDaemon(input({ incusToken }))).toMatchObject({ field: 'incusToken' });
  });

  it('is refused if the token or the certificate makes no sense, whatever they are', () => {
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

describe('the trust of a daemon', () => {
  it('is right if it is for one restricted project that names the join token', () => {
    expect(problemWithTrust(limits, digest)).toBeNull();
  });

  const [project] = limits.projects;
  const changed = (changes: Readonly<Record<string, string>>): TrustLimits => ({
    ...limits,
    projects: [{ name: 'millrace', config: { ...config, ...changes } }],
  });
  it.each<readonly [string, TrustLimits]>([
    ['a certificate that is not restricted', { ...limits, isRestricted: false }],
    ['a look into other projects', { ...limits, seesOthers: true }],
    ['a cluster', { ...limits, isClustered: true }],
    ['no project', { ...limits, projects: [] }],
    ['two projects', { ...limits, projects: [...limits.projects, { name: 'other', config }] }],
    ['the default project', { ...limits, projects: [{ name: 'default', config: project?.config ?? {} }] }],
    ['a project whose name is a path', { ...limits, projects: [{ name: '../x', config }] }],
    ['a project that restricts nothing', changed({ restricted: 'false' })],
    ['a project with the images of others', changed({ 'features.images': 'false' })],
    ['a project with the profiles of others', changed({ 'features.profiles': 'false' })],
    ['a project that names another join token', changed({ 'user.millrace.join': 'e'.repeat(64) })],
    ['a project that names none', changed({ 'user.millrace.join': '' })],
  ])('is refused in words: %s', (_title, given) => {
    expect(problemWithTrust(given, digest)).toMatch(/^[A-Z].+\.$/s);
  });

  it('is not right for a join token that nobody knows', () => {
    expect(problemWithTrust(limits, null)).not.toBeNull();
  });
});

describe('how machines are made there', () => {
  const endpoint = 'https://203.0.113.7:8443';
  const daemon = { limits, images: ['ubuntu-24.04', 'debian'], endpoint, serverCertificate: 'PEM' };

  it('is what its owner wrote on the project, and always guarded and pinned', () => {
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

  it('has ports on all addresses of the host, of its own kind', () => {
    expect(clusterSettingsOf({ ...daemon, endpoint: 'https://[2001:db8::7]:8443' })).toMatchObject({
      settings: { listenAddress: '::' },
    });
  });

  it('with those of its images alone that tenants can name: they are told of them', () => {
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
  ])('is refused with %j', (changes) => {
    const projects = [{ name: 'millrace', config: { ...config, ...changes } }];
    expect(clusterSettingsOf({ ...daemon, limits: { ...limits, projects } })).toHaveProperty('problem');
  });
});

const node: InspectedNode = { gpuCount: 2, models: ['X', 'X'], cpuCount: 8, ramMb: 4_096, storageGb: 100 };

describe('its hardware', () => {
  it('can be rented with GPUs of one model and room for a machine', () => {
    expect(problemWithHardware(node)).toBeNull();
  });

  it.each<Partial<InspectedNode>>([
    { gpuCount: 0, models: [] },
    { models: ['X', 'Y'] },
    { cpuCount: null },
    { ramMb: 100 },
    { storageGb: 0 },
  ])('cannot be rented with %j', (changes) => {
    expect(problemWithHardware({ ...node, ...changes })).not.toBeNull();
  });

  it('is what was reported only if as many GPUs were seen', () => {
    const figures = { gpu: { count: 2 } } as MachineBenchmark;
    expect(problemWithMeasurements(figures, 2)).toBeNull();
    expect(problemWithMeasurements(figures, 8)).toContain('8');
    expect(problemWithMeasurements(figures, 1)).not.toBeNull();
  });
});

describe('how it stands', () => {
  const [clusterId, nodeId] = [testIds.next('cls'), testIds.next('nod')];
  const statuses = (facts: Parameters<typeof enrolmentSteps>[0]): string =>
    enrolmentSteps(facts)
      .map(({ status }) => status)
      .join(' ');

  it('is told step by step, also where it was refused', () => {
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

  it('is looked at again later and later, and at least once a minute', () => {
    expect([0, 1, 2, 3].map(retryAfterMs)).toEqual([2_000, 4_000, 8_000, 16_000]);
    expect(retryAfterMs(1_000_000)).toBe(60_000);
  });
});
