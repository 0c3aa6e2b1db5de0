import { useApiQuery } from '../../../api/queries.ts';
import { CopyButton } from '../../../ui/copy.tsx';
import { TextLink } from '../../../ui/link.tsx';

/** Name of an organisation; its ID until the name is loaded, or if there is none. */
export function OrganisationName({ id }: Readonly<{ id: string }>) {
  const organisation = useApiQuery(['admin', 'organisation', id], (client, signal) =>
    client.admin.organisations.get({ organisationId: id }, { signal }),
  );
  return organisation.data?.name ?? id;
}

/** Link to an organisation by name, with a button that copies its ID. */
export function OrganisationLink({ id }: Readonly<{ id: string }>) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <TextLink to="/operator/organisations/$organisationId" params={{ organisationId: id }}>
        <OrganisationName id={id} />
      </TextLink>
      <CopyButton text={id} what="organisation ID" />
    </span>
  );
}
