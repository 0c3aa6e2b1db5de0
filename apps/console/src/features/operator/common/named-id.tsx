import { CopyButton } from '../../../ui/copy.tsx';

const machineMade = /^(?:[a-z]{3}_|[0-9a-f]{8}-)/;

/** A resource by its kind. Ids that people do not read are only copied: `rental 1042`, `price` with a copy button. */
export function NamedId({ kind, id }: Readonly<{ kind: string; id: string }>) {
  const words = kind.replaceAll(/[_-]/g, ' ');
  if (!machineMade.test(id)) return `${words} ${id}`;
  return (
    <span className="inline-flex items-center gap-1">
      {words} <CopyButton text={id} what={`${words} ID`} />
    </span>
  );
}
