import type { Item } from '@millrace/sdk';
import { Network, Wrench } from 'lucide-react';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Table } from '../../../ui/table.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { AddCluster } from './add-cluster.tsx';
import { clusterTone } from './cluster-state.ts';
import { operatorPage } from '../common/operator-page.tsx';
import { TextLink } from '../../../ui/link.tsx';

type Provider = Item<'adminListProviders'>;
type Region = Provider['regions'][number];
type Cluster = Item<'adminListClusters'>;

export const ProvidersPage = operatorPage('Providers', Providers);

function Providers() {
  const providers = useApiQuery(['admin', 'providers'], (client, signal) =>
    client.admin.providers.list({ limit: 200 }, { signal }).all(),
  );
  return (
    <>
      <PageHeader
        title="Providers"
        about="Sources of machines. Disabling one stops new rentals only; running rentals continue."
      />
      <QueryView query={providers} what="providers">
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState icon={Wrench} title="No providers configured">
                Define them in the setting <code>MILLRACE_PROVIDERS</code> of api and worker.
              </EmptyState>
            </Card>
          ) : (
            <>
              {all.map((provider) => (
                <ProviderCard key={provider.id} provider={provider} />
              ))}
              <Clusters providers={all} />
            </>
          )
        }
      </QueryView>
      <CommandHint command="millrace admin provider list" />
    </>
  );
}

function ProviderCard({ provider }: Readonly<{ provider: Provider }>) {
  const { id, variant, driver, mode, enabled, configured, regions } = provider;
  return (
    <Card
      flush
      title={
        <span className="inline-flex flex-wrap items-center gap-2">
          {id}
          <Badge tone={enabled ? 'good' : 'bad'}>{enabled ? 'on' : 'off'}</Badge>
          {!configured && <Badge tone="warn">not configured</Badge>}
          {mode === 'test' && <Badge>test</Badge>}
        </span>
      }
      about={`Driver ${driver}, shown to tenants as ${variant}.`}
      actions={<SwitchProvider provider={provider} />}
    >
      <Table
        caption={`Regions of ${id}`}
        rows={regions}
        rowKey={({ region }) => region}
        columns={[
          { head: 'Region', main: true, cell: ({ region }) => region },
          {
            head: 'Enabled',
            cell: (region) => (
              <Badge tone={region.enabled ? 'good' : 'bad'}>{region.enabled ? 'on' : 'off'}</Badge>
            ),
          },
          { head: 'Configured', cell: (region) => (region.configured ? 'yes' : 'no') },
          { head: 'Custom ports', cell: ({ customPorts }) => (customPorts ? 'yes' : 'no') },
          { head: 'Actions', cell: (region) => <SwitchRegion provider={provider} region={region} /> },
        ]}
      />
    </Card>
  );
}

function SwitchProvider({ provider }: Readonly<{ provider: Provider }>) {
  const { id: providerId, enabled } = provider;
  const label = enabled ? 'Disable' : 'Enable';
  return (
    <ActionButton
      label={label}
      title={`${label} provider ${providerId}`}
      kind={enabled ? 'danger' : 'plain'}
      doing="Saving…"
      done={`Provider ${providerId} is ${enabled ? 'disabled' : 'enabled'}.`}
      changes={['admin', 'catalog']}
      run={(client, reason) => client.admin.providers.update({ providerId, enabled: !enabled, reason })}
    >
      <p>
        {enabled
          ? 'Its machines are no longer offered. Running rentals continue and stay billed.'
          : 'Its machines are offered again in enabled regions.'}
      </p>
    </ActionButton>
  );
}

function SwitchRegion({ provider, region }: Readonly<{ provider: Provider; region: Region }>) {
  const label = region.enabled ? 'Disable' : 'Enable';
  return (
    <ActionButton
      label={label}
      title={`${label} ${region.region} of ${provider.id}`}
      kind={region.enabled ? 'danger' : 'plain'}
      doing="Saving…"
      done={`${region.region} is ${region.enabled ? 'disabled' : 'enabled'}.`}
      changes={['admin', 'catalog']}
      run={(client, reason) =>
        client.admin.providers.update({
          providerId: provider.id,
          regions: [{ region: region.region, enabled: !region.enabled }],
          reason,
        })
      }
    >
      <p>
        {region.enabled
          ? 'The region accepts no new rentals. Running rentals continue and stay billed.'
          : 'Available machines are offered again.'}
      </p>
    </ActionButton>
  );
}

function RemoveCluster({ cluster }: Readonly<{ cluster: Cluster }>) {
  return (
    <ActionButton
      label="Remove"
      title={`Remove cluster ${cluster.name}`}
      kind="danger"
      doing="Removing…"
      done={`Cluster ${cluster.name} was removed.`}
      off={
        cluster.origin === 'configuration' &&
        'Defined in the configuration. Remove it from MILLRACE_PROVIDERS instead.'
      }
      run={(client, reason) => client.admin.clusters.remove({ clusterId: cluster.id, reason })}
    >
      <p>
        Its {cluster.nodeCount} nodes are removed from the fleet. This fails while rentals run on them. The
        engine itself is not changed.
      </p>
    </ActionButton>
  );
}

const columns: readonly Column<Cluster>[] = [
  {
    head: 'Cluster',
    main: true,
    cell: ({ name, id }) => (
      <TextLink to="/operator/fleet" search={{ find: name }} title={id}>
        {name}
      </TextLink>
    ),
  },
  { head: 'Location', cell: ({ providerId, region }) => `${providerId}, ${region}` },
  {
    head: 'Engine',
    cell: ({ driver, engine, endpoint }) => (
      <>
        {engine ?? driver}
        <span className="text-soft block text-xs wrap-anywhere">{endpoint}</span>
      </>
    ),
  },
  { head: 'Offered as', cell: ({ offer }) => offer.replaceAll('-', ' ') },
  {
    head: 'Status',
    cell: ({ status, statusReason, statusSince, lastSeenAt }) => (
      <>
        <Badge tone={clusterTone(status)}>{status}</Badge>
        <span className="text-soft block text-xs">
          since <RelativeTime at={statusSince} />
        </span>
        {status !== 'connected' && (
          <span className="text-soft block text-xs">
            {lastSeenAt === null ? (
              'never responded'
            ) : (
              <>
                last response <RelativeTime at={lastSeenAt} />
              </>
            )}
          </span>
        )}
        {statusReason !== null && <span className="text-soft block text-xs">{statusReason}</span>}
      </>
    ),
  },
  { head: 'Nodes', right: true, cell: ({ nodeCount }) => nodeCount },
  { head: 'Actions', cell: (cluster) => <RemoveCluster cluster={cluster} /> },
];

function Clusters({ providers }: Readonly<{ providers: readonly Provider[] }>) {
  const pages = usePages(
    ['admin', 'clusters'],
    (client, signal) => client.admin.clusters.list({ limit: 50 }, { signal }),
    { refetchMs: 5_000 },
  );
  return (
    <Card
      title="Clusters"
      about="Endpoints of compute engines, from which nodes and GPUs are imported."
      flush
      actions={<AddCluster providers={providers} />}
    >
      <PagedTable
        pages={pages}
        what="clusters"
        caption="Clusters"
        columns={columns}
        icon={Network}
        empty="No clusters yet"
        hint="Register the endpoint of a compute engine. Its nodes appear automatically."
      />
    </Card>
  );
}
