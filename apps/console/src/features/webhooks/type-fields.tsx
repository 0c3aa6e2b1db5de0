import type { EventType } from '@millrace/contract/event-types';
import { CheckboxField } from '../../ui/field.tsx';
import { eventGroups } from './event-groups.ts';

export type Types = ReadonlySet<'*' | EventType>;

export function TypeFields({
  chosen,
  error,
  onChoose,
}: Readonly<{ chosen: Types; error: string | undefined; onChoose: (types: Types) => void }>) {
  const all = chosen.has('*');
  const toggle = (type: EventType, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(type);
    else next.delete(type);
    onChoose(next);
  };
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="font-medium">Events</legend>
      <CheckboxField
        label="All events"
        hint="Including types that are added later."
        checked={all}
        onValue={(value) => onChoose(new Set(value ? ['*'] : ['rental.running', 'rental.terminated']))}
      />
      {error !== undefined && (
        <div role="alert" className="text-bad text-xs">
          {error}
        </div>
      )}
      {!all &&
        eventGroups.map(({ label, types }) => (
          <fieldset key={label} className="mt-1 flex flex-col gap-1.5">
            <legend className="text-soft text-xs">{label}</legend>
            {types.map(({ type, about }) => (
              <CheckboxField
                key={type}
                label={type}
                hint={about}
                checked={chosen.has(type)}
                onValue={(value) => toggle(type, value)}
              />
            ))}
          </fieldset>
        ))}
    </fieldset>
  );
}
