import type { Input, Item } from '@millrace/sdk';
import { useState } from 'react';
import { fieldIssue } from '../../../api/problem.ts';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { ActionButton } from '../common/action-button.tsx';

type CreateClusterInput = Input<'adminCreateCluster'>;
type Offer = NonNullable<CreateClusterInput['offer']>;

const drivers: readonly CreateClusterInput['driver'][] = ['incus', 'ironic', 'mock'];
const offers: readonly Offer[] = ['virtual-machine', 'bare-metal', 'marketplace'];

/** Registers the endpoint of an engine. Secrets are never typed here: only the name by which the installation knows one. */
export function AddCluster({ providers }: { readonly providers: readonly Item<'adminListProviders'>[] }) {
  const [first] = providers;
  const [name, setName] = useState('');
  const [providerId, setProvider] = useState(first?.id ?? '');
  const [region, setRegion] = useState('');
  const [driver, setDriver] = useState<CreateClusterInput['driver']>('incus');
  const [offer, setOffer] = useState<Offer>('virtual-machine');
  const [endpoint, setEndpoint] = useState('');
  const [credentialRef, setCredential] = useState('');
  const regions = providers.find(({ id }) => id === providerId)?.regions ?? [];
  const where = region === '' ? (regions[0]?.region ?? '') : region;
  return (
    <ActionButton
      run={(client, reason) =>
        client.admin.clusters.create({
          name,
          providerId,
          region: where,
          driver,
          offer,
          endpoint,
          ...(credentialRef === '' ? {} : { credentialRef }),
          reason,
        })
      }
      label="Register a cluster"
      title="Register a cluster"
      doing="Registering…"
      done={(cluster) => `Cluster ${cluster.name} is registered. Its nodes appear once it answers.`}
      wait={(name === '' && 'Give it a name.') || (endpoint === '' && 'Say where it is.')}
    >
      {(error: unknown) => (
        <>
          <TextField
            label="Name"
            hint="Small letters, digits and hyphens."
            value={name}
            error={fieldIssue(error, 'name')}
            onChange={(event) => setName(event.target.value)}
          />
          <div className="grid grid-cols-2 gap-3">
            <SelectField
              label="Provider"
              value={providerId}
              error={fieldIssue(error, 'providerId')}
              choices={providers.map(({ id }) => ({ value: id, label: id }))}
              onChange={(event) => {
                setProvider(event.target.value);
                setRegion('');
              }}
            />
            <SelectField
              label="Region"
              value={where}
              error={fieldIssue(error, 'region')}
              choices={regions.map((each) => ({ value: each.region, label: each.region }))}
              onChange={(event) => setRegion(event.target.value)}
            />
            <SelectField
              label="Driver"
              value={driver}
              error={fieldIssue(error, 'driver')}
              choices={drivers.map((value) => ({ value, label: value }))}
              onChange={(event) => setDriver(drivers.find((each) => each === event.target.value) ?? 'incus')}
            />
            <SelectField
              label="Sold as"
              value={offer}
              choices={offers.map((value) => ({ value, label: value.replaceAll('-', ' ') }))}
              onChange={(event) =>
                setOffer(offers.find((each) => each === event.target.value) ?? 'virtual-machine')
              }
            />
          </div>
          <TextField
            label="Endpoint"
            placeholder="https://10.0.0.1:8443"
            value={endpoint}
            error={fieldIssue(error, 'endpoint')}
            onChange={(event) => setEndpoint(event.target.value)}
          />
          <TextField
            label="Credential (optional)"
            hint="The name of a secret known to the installation, never the secret."
            value={credentialRef}
            autoComplete="off"
            error={fieldIssue(error, 'credentialRef')}
            onChange={(event) => setCredential(event.target.value)}
          />
        </>
      )}
    </ActionButton>
  );
}
