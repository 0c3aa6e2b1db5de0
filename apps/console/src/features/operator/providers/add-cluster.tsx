import type { Input, Item } from '@millrace/sdk';
import { useState } from 'react';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { ActionButton } from '../common/action-button.tsx';

type CreateClusterInput = Input<'adminCreateCluster'>;
type Offer = NonNullable<CreateClusterInput['offer']>;

const drivers: readonly CreateClusterInput['driver'][] = ['incus', 'ironic', 'mock'];
const offers: readonly Offer[] = ['virtual-machine', 'bare-metal', 'marketplace'];

/** Registers an engine endpoint. Secrets are never entered here, only the name of a configured secret. */
export function AddCluster({ providers }: Readonly<{ providers: readonly Item<'adminListProviders'>[] }>) {
  const [name, setName] = useState('');
  const [providerId, setProvider] = useState(providers[0]?.id ?? '');
  const [region, setRegion] = useState('');
  const [driver, setDriver] = useState<CreateClusterInput['driver']>('incus');
  const [offer, setOffer] = useState<Offer>('virtual-machine');
  const [endpoint, setEndpoint] = useState('');
  const [credentialRef, setCredential] = useState('');
  const regions = providers.find(({ id }) => id === providerId)?.regions ?? [];
  const where = region === '' ? (regions[0]?.region ?? '') : region;
  const cluster = { name, providerId, region: where, driver, offer, endpoint };
  return (
    <ActionButton
      run={(client, reason) =>
        client.admin.clusters.create({
          ...cluster,
          ...(credentialRef === '' ? {} : { credentialRef }),
          reason,
        })
      }
      label="Register cluster"
      title="Register cluster"
      doing="Registering…"
      done={(made) => `Cluster ${made.name} was registered. Its nodes appear when it responds.`}
      wait={(name === '' && 'Enter a name.') || (endpoint === '' && 'Enter an endpoint.')}
    >
      <TextField
        label="Name"
        hint="Lowercase letters, digits and hyphens."
        value={name}
        issue="name"
        onValue={setName}
      />
      <div className="grid grid-cols-2 gap-3">
        <SelectField
          label="Provider"
          value={providerId}
          issue="providerId"
          choices={providers.map(({ id }) => id)}
          onValue={(value) => {
            setProvider(value);
            setRegion('');
          }}
        />
        <SelectField
          label="Region"
          value={where}
          issue="region"
          choices={regions.map((each) => each.region)}
          onValue={setRegion}
        />
        <SelectField label="Driver" value={driver} issue="driver" choices={drivers} onValue={setDriver} />
        <SelectField
          label="Sold as"
          value={offer}
          choices={offers.map((value) => ({ value, label: value.replaceAll('-', ' ') }))}
          onValue={setOffer}
        />
      </div>
      <TextField
        label="Endpoint"
        placeholder="https://10.0.0.1:8443"
        value={endpoint}
        issue="endpoint"
        onValue={setEndpoint}
      />
      <TextField
        label="Credential (optional)"
        hint="Name of a secret that the installation has, not the secret itself."
        value={credentialRef}
        autoComplete="off"
        issue="credentialRef"
        onValue={setCredential}
      />
    </ActionButton>
  );
}
