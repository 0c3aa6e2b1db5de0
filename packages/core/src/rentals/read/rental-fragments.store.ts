import { sql } from 'kysely';

/** SQL fragments about rentals that other features combine with their own tables. */

/** Machines of live online instances with custom ports. Columns: rental_id, address, ports, is_supplied (by a supplier). */
export const onlineInstances = sql`(
    select rental.id as rental_id, machine.address, machine.ports, rental.supplier_org_id is not null as is_supplied
      from rentals as rental
      join rental_machines as machine on machine.rental_id = rental.id and machine.attempt = rental.attempt
     where rental.kind = 'instance' and rental.mode = 'live' and rental.status in ('Running', 'Unknown')
       and cardinality(rental.custom_ports) > 0 and machine.state = 'open' and machine.address is not null)`;

/**
 * The rental of an allocation, as text of a prepared statement: a lateral relation over `allocation`. Columns: id and status of
 * the rental, state of its machine.
 */
export const occupantText = `(
                   select rentals.id, rentals.status, made.state
                     from rental_machines as made join rentals on rentals.id = made.rental_id
                    where made.allocation_id = allocation.id limit 1)`;
