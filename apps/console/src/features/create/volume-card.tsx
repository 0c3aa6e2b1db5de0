import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { LiveCost, PerHour } from '../../ui/money.tsx';
import { useLivePrices } from '../../api/use-live-volume-prices.ts';
import { Card } from '../../ui/page.tsx';
import { Note, QueryView } from '../../ui/states.tsx';
import { ChoiceGroup, ChoiceTile } from './choice.tsx';
import type { Draft, Issues, VolumeChoice } from './draft.ts';
import { FORM_ID } from './form-id.ts';
import type { RentalSpec } from '../catalog/selection.ts';

export function useVolumes(enabled: boolean) {
  return useApiQuery(
    ['volumes', 'all'],
    async (client, signal) => client.volumes.list({}, { signal }).all(),
    { enabled },
  );
}

const choices: readonly (readonly [VolumeChoice, string, string])[] = [
  ['none', 'No volume', 'You can attach one later.'],
  ['existing', 'Existing volume', 'It must be in the same region.'],
  ['new', 'New volume', 'Created with the machines. Keeps billing after they are deleted.'],
];

/** Shared volume that bare metal can mount from the start. */
export function VolumeCard({
  spec,
  draft,
  issues,
  onChange,
}: Readonly<{ spec: RentalSpec; draft: Draft; issues: Issues; onChange: (change: Partial<Draft>) => void }>) {
  const { mayNot } = useSession();
  const refused = mayNot('volumes:write');
  return (
    <Card title="Storage volume" about="Shared by all nodes and kept when they are deleted.">
      <div className="flex flex-col gap-3">
        {refused !== false && <Note>{refused}</Note>}
        <ChoiceGroup legend="Volume">
          {choices
            .filter(([value]) => value === 'none' || refused === false)
            .map(([value, label, about]) => (
              <ChoiceTile
                key={value}
                name="volume"
                checked={draft.volume === value}
                onChoose={() => onChange({ volume: value })}
              >
                <span className="font-medium">{label}</span>
                <span className="text-soft text-xs">{about}</span>
              </ChoiceTile>
            ))}
        </ChoiceGroup>
        {draft.volume === 'existing' && (
          <Existing spec={spec} draft={draft} issue={issues.volumeId} onChange={onChange} />
        )}
        {draft.volume === 'new' && (
          <div className="grid gap-3 sm:grid-cols-2">
            <TextField
              label="Label"
              form={FORM_ID}
              value={draft.volumeLabel}
              onValue={(volumeLabel) => onChange({ volumeLabel })}
              error={issues.volumeLabel}
            />
            <TextField
              label="Size in GB"
              form={FORM_ID}
              inputMode="numeric"
              value={draft.volumeGb}
              onValue={(volumeGb) => onChange({ volumeGb })}
              error={issues.volumeGb}
            />
          </div>
        )}
      </div>
    </Card>
  );
}

interface ExistingProps {
  readonly spec: RentalSpec;
  readonly draft: Draft;
  readonly issue: string | undefined;
  readonly onChange: (change: Partial<Draft>) => void;
}

function Existing({ spec, draft, issue, onChange }: ExistingProps) {
  const volumes = useVolumes(true);
  const livePriceOf = useLivePrices(volumes.data?.filter(({ id }) => id === draft.volumeId) ?? []);
  return (
    <QueryView query={volumes} what="volumes">
      {(all) => {
        const here = all.filter(({ region, status }) => region === spec.region && status === 'active');
        const chosen = here.find(({ id }) => id === draft.volumeId);
        if (here.length === 0)
          return <Note>You have no active volume in {spec.region}. Create a new one instead.</Note>;
        return (
          <>
            <SelectField
              label="Volume"
              form={FORM_ID}
              value={chosen === undefined ? '' : String(chosen.id)}
              onValue={(value) => onChange({ volumeId: value === '' ? null : Number(value) })}
              error={chosen === undefined ? 'Choose a volume.' : issue}
              choices={[
                { value: '', label: 'Choose…' },
                ...here.map(({ id, label, sizeInGb }) => ({
                  value: String(id),
                  label: `${label} (${String(sizeInGb)} GB)`,
                })),
              ]}
            />
            {chosen !== undefined && (
              <p className="text-soft text-xs">
                The volume's current price of <PerHour usd={chosen.costPerHour} /> is not included here.
                <LiveCost nano={livePriceOf(chosen)} perHour />
              </p>
            )}
          </>
        );
      }}
    </QueryView>
  );
}
