import { certificateOf } from './certificate.ts';
import type { Call, Cloud } from './cloud.ts';
import { createOtherOrganisation, type DemoOrganisation } from './organisations.ts';
import type { DemoWorker } from './worker.ts';

/** Suppliers of the marketplace, with simulated hosts. */

interface HostOffer {
  readonly host: string;
  readonly region: string;
  readonly usdPerGpuHour: number;
}

interface SupplierScenario {
  readonly name: string;
  readonly slug: string;
  readonly person: string;
  readonly feePercentage: number;
  readonly hosts: readonly HostOffer[];
}

const suppliers: readonly SupplierScenario[] = [
  {
    ...{ name: 'Northwind Compute', slug: 'northwind', person: 'Freya Lund', feePercentage: 12 },
    hosts: [
      { host: '8x-a100-hall-a', region: 'eu-north-2', usdPerGpuHour: 1.19 },
      { host: '8x-a100-hall-b', region: 'eu-north-2', usdPerGpuHour: 1.24 },
      { host: '4x-l40s-hall-b', region: 'eu-north-2', usdPerGpuHour: 0.79 },
    ],
  },
  {
    ...{ name: 'Prairie GPU Co-op', slug: 'prairie', person: 'Jordan Ellis', feePercentage: 15 },
    hosts: [
      { host: '4x-rtx5090-barn', region: 'us-central-1', usdPerGpuHour: 0.62 },
      { host: '8x-rtx4090-barn', region: 'us-central-1', usdPerGpuHour: 0.34 },
      { host: '2x-rtx4090-loft', region: 'us-central-1', usdPerGpuHour: 0.31 },
    ],
  },
  {
    ...{ name: 'Harbour Rendering', slug: 'harbour', person: 'Noor Haddad', feePercentage: 15 },
    hosts: [
      { host: '8x-h100-pier-1', region: 'us-east-1', usdPerGpuHour: 2.09 },
      { host: '6x-rtx4090-pier-2', region: 'us-east-1', usdPerGpuHour: 0.36 },
    ],
  },
];

const ownHosts: readonly HostOffer[] = [
  { host: '4x-rtx4090-lab', region: 'us-central-1', usdPerGpuHour: 0.38 },
  { host: '2x-l40s-lab', region: 'us-central-1', usdPerGpuHour: 0.82 },
];

const nanoText = (usd: number): string => String(Math.round(usd * 1_000_000_000));

export interface OfferedMachine {
  readonly machineId: string;
  readonly clusterName: string;
  readonly host: string;
}

/** Approves the suppliers, lets their hosts join and lists them. One application stays open. */
export async function openMarketplace(
  cloud: Cloud,
  worker: DemoWorker,
  demo: DemoOrganisation,
): Promise<readonly OfferedMachine[]> {
  const offered: OfferedMachine[] = [];
  for (const { hosts, feePercentage, name, slug, person } of suppliers) {
    const organisation = await createOtherOrganisation(cloud, { name, slug, person });
    offered.push(
      ...(await joinMarketplace({ cloud, worker, operator: demo.call }, organisation, {
        name,
        feePercentage,
        hosts,
      })),
    );
  }
  offered.push(
    ...(await joinMarketplace({ cloud, worker, operator: demo.call }, demo, {
      ...{ name: 'Aurora Research Lab', feePercentage: 10, hosts: ownHosts },
    })),
  );
  return offered;
}

export async function applyAsSupplier(cloud: Cloud): Promise<void> {
  const { call } = await createOtherOrganisation(cloud, {
    ...{ name: 'Quiet Valley Colocation', slug: 'quiet-valley', person: 'Tomás Rivera' },
  });
  await call('POST', '/v2/supplier/application', {
    name: 'Quiet Valley Colocation',
    about: 'Twelve servers with 8 x H200 each in Reno, 100 Gbit/s, on site around the clock.',
  });
}

async function joinMarketplace(
  { cloud, worker, operator }: { cloud: Cloud; worker: DemoWorker; operator: Call },
  organisation: DemoOrganisation,
  scenario: Pick<SupplierScenario, 'name' | 'feePercentage' | 'hosts'>,
): Promise<readonly OfferedMachine[]> {
  const { call } = organisation;
  const { id } = await call<{ id: string }>('POST', '/v2/supplier/application', { name: scenario.name });
  await operator('POST', `/v2/admin/suppliers/${id}/approve`, {
    feePercentage: scenario.feePercentage,
    reason: 'References checked',
  });
  const scopes = ['supplier:read', 'supplier:write'];
  const { key } = await call<{ key: string }>('POST', '/v2/api-keys', { name: 'hosts', scopes });
  const supplier = cloud.as(key);
  const offered: OfferedMachine[] = [];
  for (const { host, region } of scenario.hosts) await join(supplier, host, region);
  await worker.settle();
  for (const { host, usdPerGpuHour } of scenario.hosts) {
    const machineId = await machineOf(supplier, host);
    await supplier('PATCH', `/v2/supplier/machines/${machineId}`, {
      pricePerGpuHourNanoUsd: nanoText(usdPerGpuHour),
      listed: true,
    });
    await operator('POST', `/v2/admin/machines/${machineId}/approve`, { reason: 'Tests passed' });
    offered.push({ machineId, clusterName: host, host });
  }
  return offered;
}

async function join(supplier: Call, host: string, region: string): Promise<void> {
  const { token } = await supplier<{ token: string }>('POST', '/v2/supplier/join-tokens', {
    clusterName: host,
    region,
  });
  const { certificate, fingerprint } = certificateOf(host);
  const trustToken = JSON.stringify({ fingerprint, secret: 'demo' });
  await supplier('POST', '/v2/supplier/enrolments', {
    token,
    incusToken: Buffer.from(trustToken).toString('base64'),
    endpoint: `https://${host}.mock.example:8443`,
    name: host,
    serverCertificate: certificate,
  });
}

interface EnrolmentView {
  readonly name: string;
  readonly stage: string;
  readonly machineId: string;
}

async function machineOf(supplier: Call, host: string): Promise<string> {
  const { items } = await supplier<{ items: readonly EnrolmentView[] }>('GET', '/v2/supplier/enrolments');
  const enrolment = items.find(({ name }) => name === host);
  if (enrolment?.stage !== 'enrolled')
    throw new Error(`The host ${host} did not join: ${JSON.stringify(enrolment)}`);
  return enrolment.machineId;
}
