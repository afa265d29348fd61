# Sourced by expect, measure and accuracy.

# curve_list: the lines of the list of curves, each a curve's name and its options: of validate/scripts/curves, or of the file
# that CURVES names in the environment. Fails, and says why, where that cannot be read or names none.
curve_list() {
  local list=${CURVES:-$(dirname "${BASH_SOURCE[0]}")/curves}
  [ -r "$list" ] || {
    echo "$list, the list of curves, cannot be read" >&2
    return 1
  }
  grep -v -e '^#' -e '^[[:space:]]*$' "$list" && return
  echo "$list names no curve" >&2
  return 1
}
