import type { Item } from '@millrace/sdk';
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
        about="Where machines come from. Switching something off stops new rentals only; what runs goes on."
      />
      <QueryView query={providers} what="providers">
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState title="No providers are configured">
                They stand in the setting <code>MILLRACE_PROVIDERS</code> of the api and the worker.
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
          {!configured && <Badge tone="warn">no longer configured</Badge>}
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
            head: 'Sells',
            cell: (region) => (
              <Badge tone={region.enabled ? 'good' : 'bad'}>{region.enabled ? 'on' : 'off'}</Badge>
            ),
          },
          { head: 'Configured', cell: (region) => (region.configured ? 'yes' : 'no longer') },
          { head: 'Own ports', cell: ({ customPorts }) => (customPorts ? 'tenants choose' : 'no') },
          { head: 'Act', cell: (region) => <SwitchRegion provider={provider} region={region} /> },
        ]}
      />
    </Card>
  );
}

function SwitchProvider({ provider }: Readonly<{ provider: Provider }>) {
  const { id: providerId, enabled } = provider;
  const label = enabled ? 'Switch off' : 'Switch on';
  return (
    <ActionButton
      label={label}
      title={`${label} provider ${providerId}`}
      kind={enabled ? 'danger' : 'plain'}
      doing="Switching…"
      done={`Provider ${providerId} is ${enabled ? 'off' : 'on'}.`}
      changes={['admin', 'catalog']}
      run={(client, reason) => client.admin.providers.update({ providerId, enabled: !enabled, reason })}
    >
      <p>
        {enabled
          ? 'None of its machines is offered any more. What runs on them goes on and goes on being billed.'
          : 'Its machines are offered again in the regions that are on.'}
      </p>
    </ActionButton>
  );
}

function SwitchRegion({ provider, region }: Readonly<{ provider: Provider; region: Region }>) {
  const label = region.enabled ? 'Switch off' : 'Switch on';
  return (
    <ActionButton
      label={label}
      title={`${label} ${region.region} of ${provider.id}`}
      kind={region.enabled ? 'danger' : 'plain'}
      doing="Switching…"
      done={`${region.region} is ${region.enabled ? 'off' : 'on'}.`}
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
          ? 'Nothing new is rented there. What runs goes on and goes on being billed.'
          : 'What is free there is offered again.'}
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
      done={`Cluster ${cluster.name} is removed.`}
      off={
        cluster.origin === 'configuration' &&
        'It stands in the configuration. Take it out of MILLRACE_PROVIDERS instead.'
      }
      run={(client, reason) => client.admin.clusters.remove({ clusterId: cluster.id, reason })}
    >
      <p>
        Its {cluster.nodeCount} nodes leave the fleet. It is refused while anything is rented on them; the
        engine itself is not touched.
      </p>
    </ActionButton>
  );
}

const columns: readonly Column<Cluster>[] = [
  {
    head: 'Cluster',
    main: true,
    cell: ({ name, id }) => (
      <TextLink to="/operator" search={{ find: name }} title={id}>
        {name}
      </TextLink>
    ),
  },
  { head: 'Where', cell: ({ providerId, region }) => `${providerId}, ${region}` },
  {
    head: 'Engine',
    cell: ({ driver, engine, endpoint }) => (
      <>
        {engine ?? driver}
        <span className="text-soft block text-xs break-all">{endpoint}</span>
      </>
    ),
  },
  { head: 'Sold as', cell: ({ offer }) => offer.replaceAll('-', ' ') },
  {
    head: 'State',
    cell: ({ status, statusReason, statusSince }) => (
      <>
        <Badge tone={clusterTone(status)}>{status}</Badge> <RelativeTime at={statusSince} />
        {statusReason !== null && <span className="text-soft block text-xs">{statusReason}</span>}
      </>
    ),
  },
  { head: 'Nodes', right: true, cell: ({ nodeCount }) => nodeCount },
  { head: 'Act', cell: (cluster) => <RemoveCluster cluster={cluster} /> },
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
      about="Endpoints of compute engines. Their nodes and GPUs are read from them."
      flush
      actions={<AddCluster providers={providers} />}
    >
      <PagedTable
        pages={pages}
        what="clusters"
        caption="Clusters"
        columns={columns}
        empty="No clusters yet"
        hint="Register the endpoint of a compute engine; its nodes appear by themselves."
      />
    </Card>
  );
}
